"""What mutants are made of: faults, each in place of one honest part. They say nothing about why."""
