"""So many generated secrets: nothing to wait for, so what it takes is the engine's, and most of that its state."""

import os

from nomad_stateful.sdk.generated_secret import GeneratedSecret

for number in range(int(os.environ["SECRETS"])):
    GeneratedSecret(f"secret-{number}")
