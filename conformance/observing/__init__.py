"""What recordings show of a dialect, key by key, in one file per part of the loop. Knows no declaration's worth."""
