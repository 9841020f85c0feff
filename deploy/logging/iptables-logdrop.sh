#!/bin/sh
# Makes DROP rules of a node's iptables firewall log, with limits, and takes that back again. Run as root on the node.
# docs/logging.md tells where to use it and what it costs.
set -eu

usage() {
  cat <<'END'
Usage: iptables-logdrop.sh [OPTION...] [--chain CHAIN]... [--invalid CHAIN]...
       iptables-logdrop.sh --remove

Makes the chains KNT-LOGDROP (logs, then drops) and KNT-LOG (logs only) in the filter table, IPv4 and IPv6. May be run again at any time:
what the last run did is replaced.

  --chain CHAIN         its rules that end in "-j DROP" jump to KNT-LOGDROP instead; if its policy is DROP, KNT-LOG is its last rule
  --invalid CHAIN       its first rule logs and drops what connection tracking calls INVALID
  --prefix TEXT         begins every line; at most 19 characters. Default: knt-drop
  --limit RATE          lines on the whole node, of each family and chain. Default: 10/second
  --burst N             lines at once before that counts. Default: 50
  --source-limit RATE   lines for one source address. Default: 2/second
  --source-burst N      Default: 10
  --remove              puts the DROP rules back and deletes the chains

IPTABLES and IP6TABLES name the commands. Default: the backend (legacy or nft) that has kube-proxy's or the kubelet's rules, else more rules.
END
}

die() {
  echo "iptables-logdrop.sh: $1" >&2
  exit 2
}

remove=false prefix=knt-drop limit=10/second burst=50 source_limit=2/second source_burst=10 chains='' invalid=''
while [ $# -gt 0 ]; do
  case $1 in
    --remove) remove=true && shift && continue ;;
    --help) usage && exit 0 ;;
    --chain | --invalid | --prefix | --limit | --burst | --source-limit | --source-burst) ;;
    *) die "$1 is not an option: see --help" ;;
  esac
  [ $# -gt 1 ] || die "$1 needs a value"
  case $1 in
    --chain) chains="$chains $2" ;;
    --invalid) invalid="$invalid $2" ;;
    --prefix) prefix=$2 ;;
    --limit) limit=$2 ;;
    --burst) burst=$2 ;;
    --source-limit) source_limit=$2 ;;
    --source-burst) source_burst=$2 ;;
  esac
  shift 2
done

# At the longest it is followed by "-invalid: ", and iptables keeps 29 characters.
case $prefix in
  '' | *[!A-Za-z0-9_.-]*) die "--prefix $prefix: use letters, digits and . _ - only" ;;
  *drop* | *deny* | *denied* | *block* | *DROP* | *DENY* | *DENIED* | *BLOCK*) ;;
  *) die "--prefix $prefix: it needs drop, deny, denied or block in it, or the lines are not taken for drops" ;;
esac
[ ${#prefix} -le 19 ] || die "--prefix $prefix: it has ${#prefix} characters, 19 is the most"
for chain in $chains $invalid; do
  case $chain in
    cali-* | KUBE-* | CILIUM* | KNT-* | ufw* | FWD* | DOCKER*) die "$chain is another program's chain, which would put its rules back: see docs/logging.md" ;;
    *[!A-Za-z0-9_.-]*) die "$chain is not the name of a chain" ;;
  esac
done

find_backend() {
  for table in mangle filter; do
    for backend in nft legacy; do
      if "iptables-$backend-save" -t "$table" 2>/dev/null | grep -qE '^:KUBE-(IPTABLES-HINT|KUBELET-CANARY|FORWARD)'; then
        echo "iptables-$backend" && return
      fi
    done
  done
  nft=$(iptables-nft-save 2>/dev/null | grep -c '^-A') || true
  legacy=$(iptables-legacy-save 2>/dev/null | grep -c '^-A') || true
  if [ "$nft" = "$legacy" ]; then echo iptables; elif [ "$nft" -gt "$legacy" ]; then echo iptables-nft; else echo iptables-legacy; fi
}

IPTABLES=${IPTABLES:-$(find_backend)}
IP6TABLES=${IP6TABLES:-$(echo "$IPTABLES" | sed 's/iptables/ip6tables/')}

# Lines for iptables-restore that turn what iptables-save printed, "$1", into what is asked for; with neither chains nor invalid, into what was
# before. From the last rule to the first, so that a deletion does not move those that are still to come. No rule is touched twice: replacing
# one twice in a transaction crashes iptables-nft 1.8.9.
plan() {
  echo "$1" | awk -v chains="$2" -v invalid="$3" '
    BEGIN { split(chains, names, " "); for (i in names) wanted[names[i]] = 1 }
    /^:/ { policy[substr($1, 2)] = $2 }
    /^-A / { rule[++count] = $0; chain[count] = $2; at[count] = ++length_of[$2] }
    END {
      for (i = count; i > 0; i--) {
        if (chain[i] ~ /^KNT-/) continue
        place = chain[i] " " at[i]
        if (rule[i] ~ / -[jg] KNT-(LOG|INVALID)$/) print "-D " place
        else if (chain[i] in wanted && sub(/ -j DROP$/, " -j KNT-LOGDROP", rule[i]) ||
          !(chain[i] in wanted) && sub(/ -[jg] KNT-LOGDROP$/, " -j DROP", rule[i])) {
          sub(/^-A [^ ]+/, "", rule[i])
          print "-R " place rule[i]
        }
      }
      for (name in wanted) if (policy[name] == "DROP") print "-A " name " -j KNT-LOG"
      count = split(invalid, names, " ")
      for (i = 1; i <= count; i++) print "-I " names[i] " 1 -m conntrack --ctstate INVALID -j KNT-INVALID"
    }'
}

log_rule() {
  echo "-A $1 -m hashlimit --hashlimit-name $1 --hashlimit-mode srcip --hashlimit-upto $source_limit --hashlimit-burst $source_burst" \
    "--hashlimit-htable-max 4096 --hashlimit-htable-expire 60000 -m limit --limit $limit --limit-burst $burst" \
    "-j LOG --log-prefix \"$2: \" --log-level 5"
}

# One transaction: a packet meets the rules as they were or as they are to be, and never a chain that is half full.
restore() {
  "$1-restore" --noflush --wait
}

apply() {
  saved=$("$1-save" -t filter)
  for chain in $chains $invalid; do
    echo "$saved" | grep -q "^:$chain " || die "$1 has no chain $chain in its filter table: see $1 -S"
  done
  {
    echo '*filter'
    for chain in KNT-LOGDROP KNT-LOG KNT-INVALID; do echo ":$chain - [0:0]"; done
    plan "$saved" "$chains" "$invalid"
    log_rule KNT-LOGDROP "$prefix" && echo '-A KNT-LOGDROP -j DROP'
    log_rule KNT-LOG "$prefix"
    log_rule KNT-INVALID "$prefix-invalid" && echo '-A KNT-INVALID -j DROP'
    echo COMMIT
  } | restore "$1"
}

take_back() {
  saved=$("$1-save" -t filter)
  echo "$saved" | grep -q '^:KNT-' || return 0
  {
    echo '*filter'
    plan "$saved" '' ''
    for chain in KNT-LOGDROP KNT-LOG KNT-INVALID; do
      echo "$saved" | grep -q "^:$chain " || continue
      echo "-F $chain" && echo "-X $chain"
    done
    echo COMMIT
  } | restore "$1"
}

for command in "$IPTABLES" "$IP6TABLES"; do
  command -v "$command-restore" >/dev/null || die "$command-restore is not there: name the command in IPTABLES and IP6TABLES"
  # A kernel without IPv6 has no table to change.
  if ! "$command-save" -t filter >/dev/null 2>&1; then
    [ "$command" = "$IPTABLES" ] && die "$command-save -t filter fails: run as root, with the right backend in IPTABLES"
    echo "iptables-logdrop.sh: $command-save -t filter fails, IPv6 is left out" >&2
    continue
  fi
  if $remove; then take_back "$command"; else apply "$command"; fi
done
