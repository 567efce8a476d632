"""Uploads that the server refuses before it has read them, by http.client.

The Rust test `python_reads_the_refusal_of_an_upload` runs it. It reads the cases from its input, as JSON, and prints each
response that was lost. It needs no packages.
"""

import http.client
import json
import os
import ssl
import sys
import urllib.parse


def headers(token):
    return {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}


def version(connection):
    """One request on a connection that is kept alive."""
    connection.request("GET", "/version", headers=headers(os.environ["TOKEN"]))
    response = connection.getresponse()
    response.read()
    assert response.status == 200, response.status


def run(connection, case):
    if case["kept"]:
        version(connection)
    body = bytes(case["bytes"])
    if case["chunked"]:
        chunks = (body[at : at + 65536] for at in range(0, len(body), 65536))
        connection.request(case["method"], case["path"], chunks, headers(case["token"]), encode_chunked=True)
    else:
        connection.putrequest(case["method"], case["path"])
        for name, value in headers(case["token"]).items():
            connection.putheader(name, value)
        if case["twoHosts"]:
            connection.putheader("Host", "other")
        if case["expect"]:
            connection.putheader("Expect", "100-continue")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
    response = connection.getresponse()
    response.read()
    assert response.status == case["code"], response.status
    if not response.will_close:
        version(connection)


def main():
    url = urllib.parse.urlsplit(os.environ["URL"])
    context = ssl.create_default_context(cafile=os.environ["CA"])
    lost = 0
    for case in json.load(sys.stdin):
        for _ in range(case["times"]):
            connection = http.client.HTTPSConnection(url.hostname, url.port, timeout=60, context=context)
            try:
                run(connection, case)
            except Exception as error:
                print(case, repr(error))
                lost += 1
            finally:
                connection.close()
    if lost:
        sys.exit(f"{lost} responses were lost")


main()
