#!/bin/bash
echo b > b.txt
