"""How commands take values from `viva.yaml`: keys are derived from their options, and what runs code is asked for."""
