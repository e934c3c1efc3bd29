"""The dialects that come with the kit, as data: one file each, whose name `--dialect` takes."""
