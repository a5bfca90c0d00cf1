#!/bin/bash
grep -q a /app/a.txt && echo 1 > /logs/verifier/reward.txt
