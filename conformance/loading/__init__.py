"""From a scenario file to a Scenario or to every problem it has, each with its place."""
