# Functions of image-proof.sh, which sets their variables.
# shellcheck shell=bash disable=SC2016,SC2154

pod() { podman "${storage[@]}" --cgroup-manager=cgroupfs --events-backend=none --runtime=runc "$@"; }

# check NAME PATTERN STATUS COMMAND...: what it prints has a match, and it ends with that status.
check() {
  local name=$1 pattern=$2 expected=$3 output status
  shift 3
  output=$("$@" 2>&1)
  status=$?
  if [ "$status" = "$expected" ] && grep -Eq -- "$pattern" <<< "$output"; then
    passed=$((passed + 1))
    echo "ok      $name: $(grep -Em1 -- "$pattern" <<< "$output" | cut -c 1-200)"
  else
    failed=$((failed + 1))
    printf 'FAILED  %s: exit status %s, expected %s; expected to show %s\n%s\n' "$name" "$status" "$expected" "$pattern" "$output"
  fi
}

# heard NAME PATTERN [FILE]: an agent has said so.
heard() { check "$1" "$2" 0 cat "${3:-$work/said}"; }
unheard() { check "$1" '^0$' 1 grep -cE -- "$2" "$work/said"; }

# A journal of the real kernel's messages, by a journald of its own.
journald() {
  unshare --mount --propagation private --pid --fork --kill-child sh -ec '
    mount -t tmpfs tmpfs /run
    mkdir -p /run/systemd/journal "/run/log/journal/$(cat /etc/machine-id)"
    /lib/systemd/systemd-journald < /dev/null &
    until [ -S /run/systemd/journal/socket ]; do sleep 0.1; done
    kill $!
    wait $! || true
    cp -a /run/log/journal "$0/run/log/"' "$node"
}

# pod_of OVERLAY [COMPONENT]: sets `pod_options`.
pod_of() {
  local folder deploy
  folder=$(mktemp -d -p "$work")
  deploy=$(realpath --relative-to="$folder" deploy)
  printf 'resources: [%s/overlays/%s]\ncomponents: [%s]\n' "$deploy" "$1" "${2:+$deploy/components/$2}" > "$folder/kustomization.yaml"
  mapfile -t pod_options < <("$kubectl" kustomize "$folder" | node scripts/image-pod.mjs "$node")
}

# As a Pod with `$pod_options`, which also has the folder that is shared with this machine.
# --ulimit: where not even root may raise limits, the ones that there are have to do.
run() {
  local tag=$1
  shift
  pod run --rm --pull=never --network=none --ulimit=nofile=1024:1024 --ulimit=nproc=1024:1024 \
    "${pod_options[@]}" "--volume=$work/shared:/shared:ro" "localhost/kube-netfilter-tailer:$tag" "$@"
}

# What an agent in the overlay says and has, from start to SIGTERM.
agent() {
  local tag=$1 log id pid
  log=$work/agent.log
  rm -f "$log"
  id=$(pod run --detach --pull=never --network=none --ulimit=nofile=1024:1024 --ulimit=nproc=1024:1024 "${pod_options[@]}" \
    "--volume=$work/shared:/shared:ro" --env=KUBECONFIG=/shared/kubeconfig --log-driver=k8s-file --log-opt="path=$log" \
    "localhost/kube-netfilter-tailer:$tag") || return
  for _ in $(seq 100); do
    grep -q '"Started"' "$log" && break
    sleep 0.1
  done
  sleep 2
  pid=$(pod inspect --format '{{.State.Pid}}' "$id")
  grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp|VmRSS|Groups):' "/proc/$pid/status" | tr -s '\t ' ' ' | paste -sd ' '
  echo "process: $(tr '\0' ' ' < "/proc/$pid/cmdline")pid in its namespace: $(awk '/^NSpid/ { print $3 }' "/proc/$pid/status")"
  pod kill --signal TERM "$id" > /dev/null
  echo "status after SIGTERM: $(pod wait "$id")"
  cut -d ' ' -f 4- "$log"
  pod rm --force "$id" > /dev/null
}
