/** What an error of a tool server, or of the way to it, is for the caller. */
import { clientClosed } from '../core/request.ts'
import { GatewayError } from '../core/errors.ts'
import type { FaultKind } from '../core/errors.ts'
import type { ToolServerSettings } from '../core/tool-servers.ts'
import { withoutPrivateAddresses } from '../lib/private-addresses.ts'

/** How much of a server's own words is passed on. */
const wordsMax = 1000

/** Codes of JSON-RPC and MCP by which a server says that the request is at fault (2026-07-28, basic, error codes). */
const requestCodes: ReadonlySet<unknown> = new Set([-32600, -32601, -32602, -32002, -32020, -32021, -32042])

/** Never throws. `signal` = of the request: what it ends is the client's leaving. */
export async function serverError(
  server: ToolServerSettings,
  thrown: unknown,
  signal: AbortSignal | undefined,
): Promise<GatewayError> {
  if (signal?.aborted) return signal.reason instanceof GatewayError ? signal.reason : clientClosed()
  const known = gatewayErrorIn(thrown)
  if (known) return named(server, known.kind, known.message, known)
  const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } = await import('@modelcontextprotocol/client')
  if (thrown instanceof ProtocolError) {
    const words = cut(server, thrown.message)
    if (requestCodes.has(thrown.code)) return named(server, 'invalid-request', words, thrown)
    return named(server, 'upstream-failed', words, thrown)
  }
  const status = statusOf(thrown)
  if (status === 401 || status === 403)
    return named(server, 'upstream-credentials', 'it refuses the credentials that are configured for it', thrown)
  if (status === 429) return named(server, 'upstream-rate-limited', 'it takes no more requests for a while', thrown)
  if (thrown instanceof SdkHttpError)
    return named(server, status >= 500 ? 'upstream-failed' : 'upstream-broken', `it answered with ${status}`, thrown)
  if (thrown instanceof SdkError) {
    const { code } = thrown
    if (code === SdkErrorCode.RequestTimeout)
      return named(server, 'upstream-timeout', 'it has not answered in time', thrown)
    if (code === SdkErrorCode.ConnectionClosed || code === SdkErrorCode.SendFailed)
      return named(server, 'upstream-closed', 'the connection was closed before its answer', thrown)
    return named(server, 'upstream-broken', 'it does not keep to the protocol', thrown)
  }
  return named(server, 'upstream-broken', 'it cannot be reached as a server of MCP', thrown)
}

function named(server: ToolServerSettings, kind: FaultKind, words: string, cause: unknown): GatewayError {
  if (cause instanceof GatewayError && cause.message.includes(`'${server.name}'`)) return cause
  return new GatewayError(kind, `the tool server '${server.name}': ${words}`, { cause })
}

/** The gateway's own error, however deep the library has wrapped it. */
function gatewayErrorIn(thrown: unknown): GatewayError | undefined {
  for (let at: unknown = thrown, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++)
    if (at instanceof GatewayError) return at
  return undefined
}

function statusOf(thrown: unknown): number {
  const { status, name } = thrown as { status?: unknown; name?: unknown }
  if (name === 'UnauthorizedError') return 401
  return typeof status === 'number' ? status : 0
}

function cut({ url }: ToolServerSettings, text: string): string {
  const short = text.length > wordsMax ? `${text.slice(0, wordsMax)}...` : text
  return withoutPrivateAddresses(short, url === undefined ? undefined : new URL(url).host)
}
