"""The files of a journal: written with one append per event, read with one pass, locked and synced."""
