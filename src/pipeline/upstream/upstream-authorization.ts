/** Authenticates calls to upstreams where a fixed header is not enough: signatures and short-lived tokens of clouds. */
import type { CloudCredentials } from '../../clouds/cloud-credentials.ts'
import type { Deployment } from '../../core/deployment.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Authorize, SignableCall } from '../../core/provider.ts'
import type { BodyPiece, UpstreamExchange, UpstreamRequest } from '../../core/transport.ts'
import type { Clock } from '../../lib/clock.ts'

/** What authenticates calls. */
interface AuthorizationParts {
  readonly clock: Clock
  readonly credentials: CloudCredentials
}

/** The request with its authentication headers. Rejects with `upstream-credentials` where the deployment gets none. */
export async function authorized(
  request: UpstreamRequest,
  deployment: Deployment,
  authorize: Authorize,
  { clock, credentials }: AuthorizationParts,
): Promise<UpstreamRequest> {
  const { target } = deployment
  const credential = target.identity && (await credentials.of(deployment, target.identity))
  const call: SignableCall = {
    method: request.method,
    ...request.head,
    // Used only by signatures over the body, for which files are read into memory as a whole.
    get body() {
      return request.body.map(bytesOfPiece)
    },
  }
  const proof = authorize(call, target, { epochMs: clock.epochMs(), credential })
  return { ...request, head: { url: request.head.url, headers: { ...request.head.headers, ...proof } } }
}

function bytesOfPiece(piece: BodyPiece): Uint8Array {
  if (piece instanceof Uint8Array) return piece
  const bytes = new Uint8Array(piece.length)
  for (let at = 0; at < bytes.length; ) {
    const read = piece.file.read(bytes.subarray(at), piece.offset + at)
    if (read === 0) throw new GatewayError('internal', 'the file of this call can no longer be read')
    at += read
  }
  return bytes
}

/** An exchange that is sent later: a cancel before that prevents it. */
export function deferredExchange(sending: Promise<UpstreamExchange>): UpstreamExchange {
  let cancelled = false
  let exchange: UpstreamExchange | undefined
  const response = sending.then(sent => {
    exchange = sent
    if (cancelled) sent.cancel()
    return sent.response
  })
  return {
    response,
    get sent() {
      return exchange?.sent ?? false
    },
    cancel() {
      cancelled = true
      exchange?.cancel()
    },
  }
}
