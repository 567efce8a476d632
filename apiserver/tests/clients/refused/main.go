// Uploads that the server refuses before it has read them, by net/http over HTTP/1.1.
//
// The Rust test `go_reads_the_refusal_of_an_upload` builds and runs it. It reads the cases from its input, as JSON, and
// prints each response that was lost.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

type upload struct {
	Method, Path, Token string
	Bytes, Code         int
	Chunked, Expect     bool
	Kept                bool
	Times               int
}

// unsized hides the length of a body, which is then sent in chunks.
type unsized struct{ io.Reader }

func main() {
	var uploads []upload
	must(json.NewDecoder(os.Stdin).Decode(&uploads))
	ca, err := os.ReadFile(os.Getenv("CA"))
	must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	lost := 0
	for _, upload := range uploads {
		for range upload.Times {
			client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
				TLSClientConfig:       &tls.Config{RootCAs: roots},
				TLSNextProto:          map[string]func(string, *tls.Conn) http.RoundTripper{},
				ExpectContinueTimeout: 10 * time.Second,
			}}
			if err := upload.run(client); err != nil {
				fmt.Printf("%+v: %v\n", upload, err)
				lost++
			}
			client.CloseIdleConnections()
		}
	}
	if lost > 0 {
		fmt.Printf("%d responses were lost\n", lost)
		os.Exit(1)
	}
}

// run sends the upload, and requests before and after it by the same client.
func (u upload) run(client *http.Client) error {
	if u.Kept {
		if err := version(client); err != nil {
			return fmt.Errorf("before it: %w", err)
		}
	}
	var body io.Reader = bytes.NewReader(make([]byte, u.Bytes))
	if u.Chunked {
		body = unsized{body}
	}
	request, err := http.NewRequest(u.Method, os.Getenv("URL")+u.Path, body)
	must(err)
	request.Header.Set("Authorization", "Bearer "+u.Token)
	request.Header.Set("Content-Type", "application/json")
	if u.Expect {
		request.Header.Set("Expect", "100-continue")
	}
	if err := send(client, request, u.Code); err != nil {
		return err
	}
	// The pool must not have a connection that the server has closed.
	if err := version(client); err != nil {
		return fmt.Errorf("after it: %w", err)
	}
	return nil
}

func version(client *http.Client) error {
	request, err := http.NewRequest("GET", os.Getenv("URL")+"/version", nil)
	must(err)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	return send(client, request, 200)
}

func send(client *http.Client, request *http.Request, code int) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); err != nil {
		return err
	}
	if response.StatusCode != code {
		return fmt.Errorf("%d, not %d", response.StatusCode, code)
	}
	return nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
