/** The parsers of HTTP as targets of the fuzzer, instrumented. */
import type { Target } from './fuzz.ts'
import { Coverage, instrument } from './instrument.ts'
import { answerSeeds, chunkSeeds, conversationSeeds } from './seeds.ts'

const headerWords = [
  'Content-Length: 3\r\n',
  'Content-Length: 18446744073709551617\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Connection: keep-alive, close\r\n',
  '\r\n\r\n',
  'HTTP/1.0',
  'HTTP/1.1',
  ': ',
]
const requestWords = [
  'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\n',
  'http://x:1/y#z',
  'Expect: 100-continue\r\n',
  'Host: [::1]:80\r\n',
]
const answerWords = ['HTTP/1.1 100 \r\n\r\n', '204', '304', '101', 'Keep-Alive: timeout=9, max=1\r\n']
const chunkWords = ['0\r\n\r\n', '5\r\n', ';a="b"\r\n', 'fffffffffff\r\n', '0000000000000001', '\r\nx: y\r\n']

/** Imports the parsers: what else imports them in this process has to come later. */
export async function httpTargets(): Promise<{ targets: Target[]; coverage: Coverage }> {
  const coverage = new Coverage()
  instrument(
    /src\/http\/(chunked-reader|header-fields|syntax|.*\/(response|request|head|body-framing|receive).*)\.ts$/,
    coverage,
  )
  const { answerOutcome, chunksOutcome, conversationOutcome } = await import('./parsers.ts')
  const targets = [
    {
      name: 'requests',
      seeds: conversationSeeds,
      words: [...headerWords, ...requestWords, ...chunkWords],
      run: conversationOutcome,
    },
    { name: 'answers', seeds: answerSeeds, words: [...headerWords, ...answerWords, ...chunkWords], run: answerOutcome },
    { name: 'chunks', seeds: chunkSeeds, words: chunkWords, run: chunksOutcome },
  ]
  return { targets, coverage }
}
