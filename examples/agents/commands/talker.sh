# The same for a person in a terminal: talker.yaml says how Viva talks to it.
echo "Hello! Tell me which word to say."
while read -r -p "you> " line; do
  word=$(sed -n 's/.*say the word \([A-Za-z]*\).*/\1/p' <<<"$line")
  echo "${word:-I can only say words.}"
done
