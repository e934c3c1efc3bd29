"""The scenarios that come with the kit, as data of the package `conformance.library`."""
