"""`python -m tests.modelserver --port N`: the scripted server for trying OneClaw by hand.

POST /script with {"text": "…"} queues an answer; without one it repeats what the user said, word by word.
"""

import argparse

from tests.modelserver import ModelServer, Script, echo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    server = ModelServer(parser.parse_args().port)
    server.default = Script(function=echo)
    print(f"OpenAI-compatible at {server.base_url('openai')}", flush=True)
    print(f"Anthropic at {server.base_url('anthropic')}", flush=True)
    print(f"Gemini at {server.base_url('gemini')}", flush=True)
    try:
        while not server.closing.wait(3600):
            pass
    except KeyboardInterrupt:
        server.close()


if __name__ == "__main__":
    main()
