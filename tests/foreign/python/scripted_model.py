"""A model that follows a script, spoken to as Anthropic's and OpenAI's are, for agent hosts that are tried for real.

It calls the tools of SCRIPT one after another, whatever it is asked, and keeps what came back.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ENTITY = {"name": "a", "entityType": "b", "observations": ["c"]}
SCRIPT = [("read_graph", {}), ("create_entities", {"entities": [ENTITY]})]


class Model:
    def __init__(self):
        self.saw = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                if self.path.startswith("/v1/messages") and "count_tokens" not in self.path:
                    return self.events(anthropic(asked, model))
                if self.path.startswith("/v1/responses"):
                    return self.events(openai(asked, model))
                return self.answer("application/json", b'{"input_tokens":1}')

            def do_GET(self):
                self.answer("application/json", b"{}")

            do_HEAD = do_GET

            def events(self, events):
                text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
                self.answer("text/event-stream", text.encode())

            def answer(self, kind, body):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def next(self, results, names):
        """The next call of the script, if the host offers its tool: (offered name, arguments)."""
        self.saw = max(self.saw, results, key=len)
        if len(results) >= len(SCRIPT):
            return None
        tool, arguments = SCRIPT[len(results)]
        offered = next((name for name in names if name[-1].endswith(tool)), None)
        return offered and (offered, arguments)


def anthropic(asked, model):
    blocks = [b for m in asked["messages"] if isinstance(m["content"], list) for b in m["content"]]
    results = [json.dumps(b["content"]) for b in blocks if b.get("type") == "tool_result"]
    call = model.next(results, [(tool["name"],) for tool in asked.get("tools", [])])
    if call:
        (name,), arguments = call
        block = {"type": "tool_use", "id": f"toolu_{len(results)}", "name": name, "input": {}}
        delta, why = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}, "tool_use"
    else:
        block, delta, why = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


def openai(asked, model):
    results = [json.dumps(i["output"]) for i in asked["input"] if i.get("type") == "function_call_output"]
    # A server's tools may be offered one by one, or together in a namespace.
    alone = [(tool.get("name", ""),) for tool in asked.get("tools", [])]
    spaced = [(tool["name"], inner["name"]) for tool in asked.get("tools", []) for inner in tool.get("tools") or []]
    call = model.next(results, alone + spaced)
    if call:
        name, arguments = call
        item = {"type": "function_call", "id": "fc_1", "call_id": f"call_{len(results)}", "name": name[-1],
                "arguments": json.dumps(arguments), **({"namespace": name[0]} if len(name) == 2 else {})}
    else:
        item = {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "done"}]}
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}
    return [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
    ]
