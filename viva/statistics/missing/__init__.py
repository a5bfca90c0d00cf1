"""What is known of a score although runs or verdicts are missing."""
