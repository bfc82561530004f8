# inherit.sh LIST FILE...
# Writes, as a line for EnvironmentFile=, the names of all variables that the FILEs set, so that
# agents inherit them. A FILE with a leading `-` may be missing. Runs as root, which alone may read
# the FILEs; only names are written.
set -eu
list=$1
shift
names=${AGENT_BOX_INHERIT-}
for file in "$@"; do
  file=${file#-}
  [ -r "$file" ] || continue
  while IFS= read -r line || [ -n "$line" ]; do
    name=${line%%=*}
    case $name in
      "$line" | "" | [0-9]* | *[!A-Za-z0-9_]*) ;;
      *) names="$names $name" ;;
    esac
  done < "$file"
done
mkdir -p "${list%/*}"
printf 'AGENT_BOX_INHERIT=%s\n' "$names" > "$list"
