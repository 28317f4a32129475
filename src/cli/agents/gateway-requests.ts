/** Requests of the command line to a gateway that this person signs in to. */
import packageJson from '../../../package.json' with { type: 'json' }
import { isLoopback } from '../../lib/no-proxy.ts'

const answerMsMax = 20_000
const answerBytesMax = 1024 * 1024

/** What the gateway answered: JSON, or undefined where it is none. */
export interface GatewayAnswer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>> | undefined
}

/** The gateway gave no answer. The message says why, and that it can be tried again. */
export class GatewayUnreachable extends Error {
  override readonly name = 'GatewayUnreachable'
}

/** Sends a GET, or a form as POST. Redirects are not followed: tokens go to the address that was given. */
export async function askGateway(address: string, form?: Readonly<Record<string, string>>): Promise<GatewayAnswer> {
  const { request } = address.startsWith('https:') ? await import('node:https') : await import('node:http')
  const body = form === undefined ? undefined : new URLSearchParams(form).toString()
  const { promise, resolve, reject } = Promise.withResolvers<GatewayAnswer>()
  const headers = {
    accept: 'application/json',
    'user-agent': `modelgate/${packageJson.version} (${process.platform})`,
    ...(body !== undefined && {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(Buffer.byteLength(body)),
    }),
  }
  const sent = request(address, { method: body === undefined ? 'GET' : 'POST', agent: false, headers }, response => {
    const pieces: Buffer[] = []
    let bytes = 0
    response.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > answerBytesMax) return stop('its answer is too long')
      pieces.push(piece)
    })
    response.on('error', (error: Error) => stop(error.message))
    response.on('end', () => resolve({ status: response.statusCode ?? 0, json: parsed(Buffer.concat(pieces)) }))
  })
  const stop = (reason: string): void => {
    reject(new GatewayUnreachable(`the gateway at ${new URL(address).origin} cannot be asked: ${reason}`))
    sent.destroy()
  }
  const timer = setTimeout(() => stop(`no answer within ${answerMsMax / 1000} seconds`), answerMsMax)
  sent.on('error', (error: Error) => stop(error.message))
  sent.end(body)
  return promise.finally(() => clearTimeout(timer))
}

function parsed(bytes: Buffer): GatewayAnswer['json'] {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as GatewayAnswer['json']) : undefined
  } catch {
    return undefined
  }
}

/**
 * The address of a gateway as it is kept: without a slash at the end. undefined = it is none, or tokens would be sent
 * over plain http to another machine.
 */
export function gatewayUrl(given: string): string | undefined {
  const text = given.includes('://') ? given : `https://${given}`
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined
  if (url.username || url.password || url.search || url.hash) return undefined
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) return undefined
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}
