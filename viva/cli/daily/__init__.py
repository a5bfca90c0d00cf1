"""What daily work needs: filters of runs, watching files, and the state of a suite at work."""
