"""An OpenAI-shaped upstream that no engine here can play: answers computed from the texts, in awkward but legal forms.

The weights of the stage rank every document alike, and real engines honour base64. This one gives each document a
score of its own, answers out of order, and sends floats whatever was asked.
"""

import hashlib
import http.server
import json
import struct
import threading

WIDTH = 11


def vector_of(text):
    """Floats in [-1, 1) from the text's digest, exact in single precision."""
    words = struct.unpack(f"<{WIDTH}H", hashlib.sha256(text.encode()).digest()[: 2 * WIDTH])
    return [word / 32768 - 1 for word in words]


def score_of(query, document):
    """A score in [-8, 8) from the digest of both."""
    return struct.unpack("<H", hashlib.sha256(f"{query}\0{document}".encode()).digest()[:2])[0] / 4096 - 8


def _embeddings(body):
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    rows = [{"object": "embedding", "index": index, "embedding": vector_of(text)} for index, text in enumerate(texts)]
    tokens = sum(map(len, texts))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {
        "object": "list",
        "model": "whatever-it-likes",
        "data": rows[::-1],
        "usage": usage,
        "extra": {"ignored": True},
    }


def _rerank(body):
    documents = body["documents"]
    rows = [{"index": index, "relevance_score": score_of(body["query"], text)} for index, text in enumerate(documents)]
    return {
        "id": "r-1",
        "model": "whatever-it-likes",
        "results": rows,
        "usage": {"total_tokens": sum(map(len, documents))},
    }


class ScriptedUpstream:
    """Listens on a port of its own until it is closed, and remembers what it was asked."""

    def __init__(self):
        self.asked = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.asked.append((self.path, body, dict(self.headers)))
                answer = {"/v1/embeddings": _embeddings, "/v1/rerank": _rerank}.get(self.path)
                self._send(json.dumps(answer(body)).encode() if answer else b"{}", 200 if answer else 404)

            def _send(self, content, status):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_arguments):
                """Nothing is printed: the stage's output is its checks."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
