"""Reads what tracing platforms export: each module turns the records of one platform into spans."""
