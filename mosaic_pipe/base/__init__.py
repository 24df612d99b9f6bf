"""What every other part stands on: errors, exit codes, bundled files, suggestions."""
