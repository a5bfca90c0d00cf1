# Says the word that it is asked to say, for the case echo. Messages are numbered 1, 2, 3…
number=0
while read -r line; do
  number=$((number + 1))
  word=$(sed -n 's/.*"message": "[^"]*say the word \([A-Za-z]*\).*/\1/p' <<<"$line")
  printf '{"id": %d, "text": "%s"}\n' "$number" "${word:-I can only say words.}"
done
