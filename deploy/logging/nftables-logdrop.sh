#!/bin/sh
# Makes drop rules of a node's nftables firewall log, with limits, and takes that back again. Run as root on the node.
# docs/logging.md tells where to use it and what it costs.
set -euf

usage() {
  cat <<'END'
Usage: nftables-logdrop.sh [OPTION...] {--chain CHAIN | --invalid CHAIN}...
       nftables-logdrop.sh [OPTION...] --print
       nftables-logdrop.sh [--table TABLE] --remove

Makes the chains knt_logdrop (logs, then drops) and knt_log (logs only) in a table. May be run again at any time: what the last run did is
replaced. Exit status: 0, also when there is nothing to remove; 2 when the arguments are wrong or the node lacks what is needed; another one
is that of nft. Unless it is 0, nothing was changed.

  --table TABLE         family and name. Default: "inet filter"
  --chain CHAIN         its rules that end in "drop" jump to knt_logdrop instead; if its policy is drop, knt_log is its last rule
  --invalid CHAIN       its first rule logs and drops what connection tracking calls invalid
  --prefix TEXT         begins every line; at most 100 characters. Default: knt-drop
  --limit RATE          lines on the whole node. Default: 10/second
  --burst N             lines at once before that counts. Default: 50
  --source-limit RATE   lines for one source address. Default: 2/second
  --source-burst N      Default: 10
  --print               only prints the chains, to be included in the table in /etc/nftables.conf
  --remove              puts the drop rules back and deletes the chains; says in a line what it has done
END
}

die() {
  echo "nftables-logdrop.sh: $1" >&2
  exit 2
}

check_chain() {
  case $1 in
    INPUT | FORWARD | OUTPUT) die "$1 is a chain of iptables-nft: use iptables-logdrop.sh" ;;
    knt_*) die "$1 is a chain of this script" ;;
    '' | -* | *[!A-Za-z0-9_.-]*) die "\"$1\" is not the name of a chain" ;;
  esac
}

remove=false print=false table='inet filter' prefix=knt-drop limit=10/second burst=50 source_limit=2/second source_burst=10 chains='' invalid=''
while [ $# -gt 0 ]; do
  case $1 in
    --remove) remove=true && shift && continue ;;
    --print) print=true && shift && continue ;;
    --help) usage && exit 0 ;;
    --table | --chain | --invalid | --prefix | --limit | --burst | --source-limit | --source-burst) ;;
    *) die "$1 is not an option: see --help" ;;
  esac
  [ $# -gt 1 ] || die "$1 needs a value"
  case $1 in
    --table) table=$2 ;;
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

case $table in
  *calico* | *kube-proxy* | *firewalld* | *cilium* | *kube-network-policies*) die "$table is another program's table, which would put its rules back: see docs/logging.md" ;;
  *[!A-Za-z0-9_.\ -]*) die "--table $table is not the name of a table" ;;
  'inet '* | 'ip '* | 'ip6 '*) ;;
  *) die "--table $table: it needs a family, inet, ip or ip6, and a name" ;;
esac
case $prefix in
  '' | *[!A-Za-z0-9_.-]*) die "--prefix $prefix: use letters, digits and . _ - only" ;;
  *drop* | *deny* | *denied* | *block* | *DROP* | *DENY* | *DENIED* | *BLOCK*) ;;
  *) die "--prefix $prefix: it needs drop, deny, denied or block in it, or the lines are not taken for drops" ;;
esac
[ ${#prefix} -le 100 ] || die "--prefix has ${#prefix} characters, 100 is the most"
$remove || $print || [ -n "$chains$invalid" ] || die 'name a chain, for example --chain forward: see --help'

# Addresses of one family have one set, in which each has a bucket of its own. A full set lets the limit of the node decide.
families() {
  case $table in
    'ip6 '*) echo ip6 ;;
    'ip '*) echo ip ;;
    *) echo ip ip6 ;;
  esac
}

log_chain() {
  echo "  chain $1 {"
  for family in $(families); do
    echo "    update @knt_sources_$family { $family saddr limit rate over $source_limit burst $source_burst packets } return"
  done
  echo "    limit rate $limit burst $burst packets log prefix \"$2: \" level notice"
  echo '  }'
}

fragment() {
  for family in $(families); do
    type=ipv4_addr
    [ "$family" = ip ] || type=ipv6_addr
    echo "  set knt_sources_$family { type $type; size 4096; flags dynamic,timeout; timeout 1m; }"
  done
  log_chain knt_log "$prefix"
  log_chain knt_log_invalid "$prefix-invalid"
  echo '  chain knt_logdrop { jump knt_log; drop; }'
  echo '  chain knt_invalid { jump knt_log_invalid; drop; }'
}

if $print; then fragment && exit 0; fi

command -v nft >/dev/null || die 'nft is not there: install nftables'
listing=$(nft -t list table "$table" 2>&1) || die "there is no table $table, or this is not root: see nft list tables"
all=$(echo "$listing" | sed -n 's/^\tchain \([^ ]*\) {.*/\1/p')
for chain in $chains $invalid; do
  echo "$all" | grep -qxF "$chain" || die "the table $table has no chain $chain"
done

# Commands for nft that turn a chain as "nft -a list chain" shows it into what is asked for; neither wanted nor invalid: what was before.
plan() {
  awk -v place="$table $1" -v wanted="$2" -v invalid="$3" '
    / policy drop;/ { policy = "drop" }
    /^\t\t/ && !/^\t\ttype / {
      # A long set goes over several lines.
      sub(/^[\t ]+/, "")
      rule = rule (rule == "" ? "" : " ") $0
      if (!match(rule, / # handle [0-9]+$/)) next
      handle = substr(rule, RSTART + 10)
      rule = substr(rule, 1, RSTART - 1)
      comment = match(rule, / comment "[^"]*"$/) ? substr(rule, RSTART) : ""
      if (comment != "") rule = substr(rule, 1, RSTART - 1)
      verdict = ""
      if (rule ~ /(^| )jump knt_(log|invalid)$/) print "delete rule " place " handle " handle
      else if (wanted && sub(/(^| )drop$/, " jump knt_logdrop", rule)) verdict = "changed"
      else if (!wanted && sub(/(^| )(jump|goto) knt_logdrop$/, " drop", rule)) verdict = "changed"
      if (verdict != "") print "replace rule " place " handle " handle " " rule comment
      rule = ""
    }
    END {
      if (wanted && policy == "drop") print "add rule " place " jump knt_log"
      if (invalid) print "insert rule " place " ct state invalid jump knt_invalid"
    }'
}

is_in() {
  case " $2 " in *" $1 "*) echo 1 ;; *) echo 0 ;; esac
}

plans() {
  for chain in $all; do
    case $chain in knt_*) continue ;; esac
    # shellcheck disable=SC2086 # family and name are two words
    nft -a list chain $table "$chain" | plan "$chain" "$(is_in "$chain" "$1")" "$(is_in "$chain" "$2")"
  done
}

# One transaction: a packet meets the rules as they were or as they are to be, and never a chain that is half full.
knt_chains='knt_logdrop knt_invalid knt_log knt_log_invalid'
if $remove; then
  if ! echo "$all" | grep -q '^knt_'; then
    echo "$table: nothing to remove"
    exit 0
  fi
  changes=$(plans '' '')
  {
    printf "%s\n" "$changes"
    for chain in $knt_chains; do echo "flush chain $table $chain"; done
    for chain in $knt_chains; do echo "delete chain $table $chain"; done
    for family in $(families); do echo "delete set $table knt_sources_$family"; done
  } | nft -f -
  count() { printf "%s\n" "$changes" | grep -c "^$1 rule " || true; }
  echo "$table: $(count replace) drop rules put back, $(count delete) logging rules and $(echo "$knt_chains" | wc -w) chains removed"
else
  {
    for chain in $knt_chains; do echo "add chain $table $chain" && echo "flush chain $table $chain"; done
    echo "table $table {"
    fragment
    echo '}'
    # Sources that are known have the limit of the last run.
    for family in $(families); do echo "flush set $table knt_sources_$family"; done
    plans "$chains" "$invalid"
  } | nft -f -
  # A chain without a drop has none.
  for chain in $(echo "$chains $invalid" | tr -s ' ' '\n' | sort -u); do
    # shellcheck disable=SC2086 # family and name are two words
    echo "$table: $chain: $(nft list chain $table "$chain" | grep -c 'jump knt_' || true) rules log"
  done
fi
