"""The JSON Schemas of the project's file and message formats, as package data."""
