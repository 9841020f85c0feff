#!/bin/sh
# Makes DROP rules of a node's iptables firewall log, with limits, and takes that back again. Run as root on the node.
# docs/logging.md tells where to use it and what it costs.
set -euf

usage() {
  cat <<'END'
Usage: iptables-logdrop.sh [OPTION...] {--chain CHAIN | --invalid CHAIN}...
       iptables-logdrop.sh --remove

Makes the chains KNT-LOGDROP (logs, then drops) and KNT-LOG (logs only) in the filter table, IPv4 and IPv6. May be run again at any time:
what the last run did is replaced. A chain that only one family has is changed there. Exit status: 0, also when there is nothing to remove;
2 when the arguments are wrong or the node lacks what is needed, and nothing was changed; another one is that of iptables-restore.

  --chain CHAIN         its rules that end in "-j DROP" jump to KNT-LOGDROP instead; if its policy is DROP, KNT-LOG is its last rule
  --invalid CHAIN       its first rule logs and drops what connection tracking calls INVALID; of INPUT, FORWARD and OUTPUT that is the chain
                        in the table mangle, which comes before all of the filter table
  --prefix TEXT         begins every line; at most 19 characters. Default: knt-drop
  --limit RATE          lines on the whole node, of each family and chain. Default: 10/second
  --burst N             lines at once before that counts. Default: 50
  --source-limit RATE   lines for one source address. Default: 2/second
  --source-burst N      Default: 10
  --remove              puts the DROP rules back and deletes the chains; says in a line what it has done

IPTABLES and IP6TABLES name the commands. Default: the backend (legacy or nft) that has kube-proxy's or the kubelet's rules, else more rules.
END
}

die() {
  echo "iptables-logdrop.sh: $1" >&2
  exit 2
}

check_chain() {
  case $1 in
    cali-* | KUBE-* | CILIUM* | ANTREA-* | FLANNEL-* | LIBVIRT_* | KNT-* | ufw* | FWD* | DOCKER*)
      die "$1 is another program's chain, which would put its rules back: see docs/logging.md" ;;
    '' | -* | *[!A-Za-z0-9_.-]*) die "\"$1\" is not the name of a chain" ;;
  esac
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
    --chain) check_chain "$2" && chains="$chains $2" ;;
    --invalid) check_chain "$2" && invalid="$invalid $2" ;;
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
$remove || [ -n "$chains$invalid" ] || die 'name a chain, for example --chain FORWARD: see --help'

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
# Calico accepts packets in FORWARD by a mark and a rule that felix keeps behind all others: KNT-LOG would log them. Hence "! --mark".
plan() {
  printf "%s\n" "$1" | awk -v chains="$2" -v invalid="$3" '
    BEGIN {
      split(chains, names, " ")
      for (i in names) wanted[names[i]] = 1
      split(invalid, names, " ")
      for (i in names) checked[names[i]] = 1
    }
    /^:/ { policy[substr($1, 2)] = $2 }
    /^-A / { rule[++count] = $0; chain[count] = $2; at[count] = ++length_of[$2] }
    /^-A .* --comment "?cali:/ && match($0, / --mark [^ ]+ -j ACCEPT$/) { accepted[$2] = $(NF - 2) }
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
      for (name in wanted)
        if (name in policy && policy[name] == "DROP") print "-A " name (name in accepted ? " -m mark ! --mark " accepted[name] : "") " -j KNT-LOG"
      for (name in checked)
        if (name in policy || name ~ /^(INPUT|FORWARD|OUTPUT)$/) print "-I " name " 1 -m conntrack --ctstate INVALID -j KNT-INVALID"
    }'
}

# The kernel goes on with the limit of a hashlimit that has the same name: another limit needs another name. Old kernels take 15 characters.
log_rule() {
  name=knt-$(echo "$1 $source_limit $source_burst" | cksum | cut -d ' ' -f 1)
  echo "-A $1 -m hashlimit --hashlimit-name $name --hashlimit-mode srcip --hashlimit-upto $source_limit --hashlimit-burst $source_burst" \
    "--hashlimit-htable-max 4096 --hashlimit-htable-expire 60000 -m limit --limit $limit --limit-burst $burst" \
    "-j LOG --log-prefix \"$2: \" --log-level 5"
}

# Where a rule for INVALID goes: felix puts its own rules first in filter again and again, but has none in these chains of mangle.
invalid_in() {
  for chain in $invalid; do
    case $1:$chain in
      mangle:INPUT | mangle:FORWARD | mangle:OUTPUT) echo "$chain" ;;
      mangle:* | filter:INPUT | filter:FORWARD | filter:OUTPUT) ;;
      *) echo "$chain" ;;
    esac
  done
}

# Lines for iptables-restore: how the table "$1" of the command "$2" is to be, with the chains "$3" and "$4" for INVALID; none if it is that
# way. One transaction: a packet meets the rules as they were or as they are to be, and never a chain that is half full.
table() {
  saved=$("$2-save" -t "$1" 2>/dev/null) || saved=''
  used=''
  [ -z "$3" ] || used='KNT-LOGDROP KNT-LOG'
  [ -z "$4" ] || used="$used KNT-INVALID"
  [ -n "$used" ] || printf "%s\n" "$saved" | grep -q '^:KNT-' || return 0
  echo "*$1"
  for chain in $used; do echo ":$chain - [0:0]"; done
  plan "$saved" "$3" "$4"
  for chain in $used; do
    case $chain in KNT-INVALID) log_rule "$chain" "$prefix-invalid" ;; *) log_rule "$chain" "$prefix" ;; esac
    case $chain in KNT-LOG) ;; *) echo "-A $chain -j DROP" ;; esac
  done
  for chain in KNT-LOGDROP KNT-LOG KNT-INVALID; do
    case " $used " in *" $chain "*) continue ;; esac
    if printf "%s\n" "$saved" | grep -q "^:$chain "; then echo "-F $chain" && echo "-X $chain"; fi
  done
  echo COMMIT
}

apply() {
  lines=$(table filter "$1" "$chains" "$(invalid_in filter)" && table mangle "$1" '' "$(invalid_in mangle)")
  [ -z "$lines" ] || printf "%s\n" "$lines" | "$1-restore" --noflush --wait
  applied="$applied
$lines"
}

# How many rules of each chain log now: a chain without a DROP has none.
report() {
  saved=$("$1-save" -t filter && "$1-save" -t mangle)
  for chain in $(echo "$chains $invalid" | tr -s ' ' '\n' | sort -u); do
    echo "$1: $chain: $(printf "%s\n" "$saved" | grep -c "^-A $chain .*-[jg] KNT-" || true) rules log"
  done
}

# All that can be known before anything is changed.
commands=''
for command in "$IPTABLES" "$IP6TABLES"; do
  command -v "$command-restore" >/dev/null || die "$command-restore is not there: name the command in IPTABLES and IP6TABLES"
  if "$command-save" -t filter >/dev/null 2>&1; then
    commands="$commands $command"
  else
    [ "$command" = "$IP6TABLES" ] || die "$command-save -t filter fails: run as root, with the right backend in IPTABLES"
    # A kernel without IPv6 has no table to change.
    echo "iptables-logdrop.sh: $command-save -t filter fails, IPv6 is left out" >&2
  fi
done
if $remove; then
  chains='' invalid=''
else
  for chain in $chains $invalid; do
    found=false
    for command in $commands; do if "$command-save" -t filter | grep -q "^:$chain "; then found=true; fi; done
    $found || die "$IPTABLES has no chain $chain in its filter table: see $IPTABLES -S"
  done
fi

applied=''
for command in $commands; do
  apply "$command"
  $remove || report "$command"
done

# How many lines for iptables-restore began with "-$1", in both families.
count() {
  printf "%s\n" "$applied" | grep -c "^-$1 " || true
}

# The names of the commands are printed, because another backend was not looked at.
if $remove; then
  names=$(echo "${commands# }" | sed 's/ / and /')
  if [ "$(count X)" = 0 ]; then
    echo "$names: nothing to remove"
  else
    echo "$names: $(count R) DROP rules put back, $(count D) logging rules and $(count X) chains removed"
  fi
fi
