"""The reference loop, an honest agent whose dialect is a value, and its mutants. An agent under test like any other."""
