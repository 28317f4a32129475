/** A transport, an upstream of raw TCP and a sink that remembers: for the tests of the HTTP/1.1 client. */
import { expect } from 'bun:test'
import type { ExchangeTimeouts } from '../../../src/core/transport.ts'
import type { GatewayError } from '../../../src/core/errors.ts'
import type { BodySink, Transport, UpstreamExchange } from '../../../src/core/transport.ts'
import { createHttp1Transport } from '../../../src/http/client/client.ts'
import type { Http1Options } from '../../../src/http/client/client.ts'
import { rawUpstream, timeouts } from '../upstreams/raw-upstream.ts'
import type { RawOptions, RawUpstream } from '../upstreams/raw-upstream.ts'
import { until } from '../until.ts'

const cleanups: (() => void)[] = []

/** For `afterEach`: closes what the rigs of a test opened. */
export function closeRigs(): void {
  for (const cleanup of cleanups.splice(0)) cleanup()
}

/** A transport and its upstream. */
export interface Rig {
  readonly transport: Transport
  readonly upstream: RawUpstream
  send(given?: Partial<ExchangeTimeouts>, body?: readonly Uint8Array[]): UpstreamExchange
}

/** An upstream that does `onRequest` with each request, and a transport that must hide its secrets. */
export async function rig(onRequest: RawOptions['onRequest'], options: Http1Options = {}): Promise<Rig> {
  const upstream = await rawUpstream({ onRequest })
  const transport = createHttp1Transport(options)
  cleanups.push(() => {
    transport.close()
    upstream.stop()
  })
  const url = `${upstream.url}/v1/secret-path?key=secret-query`
  const head = { url, headers: { authorization: 'secret-header' } }
  return {
    transport,
    upstream,
    send: (given = {}, body = [Buffer.from('{}')]) =>
      transport.send({ method: 'POST', head, body, timeouts: timeouts(given) }),
  }
}

/** Answers with fixed bytes and, if asked, closes. */
export function says(text: string, then: 'stay' | 'fin' | 'reset' = 'stay'): RawOptions['onRequest'] {
  return peer => {
    if (then === 'fin') peer.socket.end(text, 'latin1')
    else peer.socket.write(text, 'latin1')
    if (then === 'reset') setTimeout(() => peer.socket.resetAndDestroy(), 20)
  }
}

/** The whole body, as Latin-1. */
export async function text(exchange: UpstreamExchange, bytesMax = 1e6): Promise<string> {
  const response = await exchange.response
  return Buffer.from(await response.body.bytes(bytesMax)).toString('latin1')
}

/** The error of a promise that must fail; looks for the secrets of `rig` in it. */
export async function failure(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.then(
    () => undefined,
    (thrown: GatewayError) => thrown,
  )
  if (!error) throw new Error('it did not fail')
  expect(error.message).not.toContain('secret')
  expect(String((error as Error).cause)).not.toContain('secret')
  return error
}

/** Keeps all that a body says. */
export class Recorder implements BodySink {
  text = ''
  bytes = 0
  ends = 0
  error: GatewayError | undefined
  onData: (() => void) | undefined
  data(bytes: Uint8Array): void {
    this.bytes += bytes.length
    if (this.text.length < 100_000) this.text += Buffer.from(bytes).toString('latin1')
    this.onData?.()
  }
  end(): void {
    this.ends++
  }
  fail(error: GatewayError): void {
    if (this.error) throw new Error('failed twice')
    this.error = error
  }
  get over(): boolean {
    return this.ends > 0 || this.error !== undefined
  }
}

/** The body through `pipe`, up to its end. */
export async function piped(exchange: UpstreamExchange): Promise<Recorder> {
  const sink = new Recorder()
  ;(await exchange.response).body.pipe(sink)
  await until(() => sink.over, 'the body ends')
  return sink
}
