"""Scripted fake models: what a provider would say, decided by a script. Imports nothing from `conformance`."""
