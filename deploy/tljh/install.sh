#!/usr/bin/env bash
# Put memlab into The Littlest JupyterHub of this machine, for all its users:
#
#   sudo bash deploy/tljh/install.sh memlab-0.1.0-py3-none-any.whl [1G]
#
# The second word is the memory limit of each user (docs/hub.md). TLJH itself is installed already.
# To run it again is to update: settings that were made by hand elsewhere stay.
set -euo pipefail

TLJH=${TLJH_INSTALL_PREFIX:-/opt/tljh}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PYTHON=$TLJH/user/bin/python
TLJH_CONFIG=$TLJH/hub/bin/tljh-config

refuse() {
    echo "$1" >&2
    exit 1
}

[[ $# -ge 1 && $# -le 2 ]] || refuse "usage: sudo bash deploy/tljh/install.sh WHEEL [MEMORY]"
WHEEL=$1
MEMORY=${2:-1G}
[[ $EUID -eq 0 ]] || refuse "This changes $TLJH, which belongs to root: run it with sudo."
[[ -f $WHEEL ]] || refuse "There is no file $WHEEL; in the repository, $PYTHON -m pip wheel --no-deps -w dist . writes one into dist/."
[[ $MEMORY =~ ^[0-9]+(\.[0-9]+)?[MGT]$ ]] || refuse "The memory of a user is a size such as 1G, got $MEMORY."
[[ -x $PYTHON && -x $TLJH_CONFIG ]] ||
    refuse "The Littlest JupyterHub is not in $TLJH; install it first, or set TLJH_INSTALL_PREFIX."
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    refuse "memlab needs Python 3.11 or newer, and $PYTHON is older; update TLJH first."

umask 022 # what learners read, and nobody else writes to
"$PYTHON" -m pip install --quiet --upgrade "${WHEEL}[lab,lessons]" nbgitpuller
# A wheel of the version that is there already would be left out, whatever is in it.
"$PYTHON" -m pip install --quiet --force-reinstall --no-deps "$WHEEL"
"$PYTHON" "$HERE/../compile_kernels.py" "$TLJH/memlab/kernels"

install -D -m 644 "$HERE/jupyterhub_config.d/memlab_hub.py" "$TLJH/config/jupyterhub_config.d/memlab_hub.py"
install -D -m 644 "$HERE/../jupyter_server_config.d/memlab.json" \
    "$TLJH/user/etc/jupyter/jupyter_server_config.d/memlab.json"
if [[ $TLJH != /opt/tljh ]]; then
    sed -i "s|/opt/tljh|$TLJH|" "$TLJH/config/jupyterhub_config.d/memlab_hub.py"
fi

"$TLJH_CONFIG" set limits.memory "$MEMORY"
"$TLJH_CONFIG" set services.cull.timeout 3600
"$TLJH_CONFIG" reload
echo "memlab is installed for every user of this hub, with $MEMORY of memory each."
