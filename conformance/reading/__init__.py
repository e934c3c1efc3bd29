"""A recording read as what an agent did: runs, classed calls, outcomes, event streams. Pure; judges nothing."""
