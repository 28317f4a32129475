/** The opening handshake of WebSockets (RFC 6455, 4.2). */
import { createHash } from 'node:crypto'

interface Headers {
  get(name: string): string | null
}

const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** 16 bytes in base64. */
const keyForm = /^[A-Za-z0-9+/]{22}==$/

/** true = the request asks for a WebSocket. */
export function asksForWebSocket(headers: Headers): boolean {
  const protocol = headers.get('upgrade')
  return protocol !== null && /(?:^|,)\s*websocket\s*(?:,|$)/i.test(protocol)
}

/** The value of `sec-websocket-accept`, or what is wrong with the request. */
export function webSocketAccept(headers: Headers): { readonly accept: string } | { readonly problem: string } {
  if (!/(?:^|,)\s*upgrade\s*(?:,|$)/i.test(headers.get('connection') ?? ''))
    return { problem: 'the header `connection` does not say `Upgrade`; a proxy in front may have taken it away' }
  if (headers.get('sec-websocket-version') !== '13')
    return { problem: 'the header `sec-websocket-version` is not 13, the only version that is spoken here' }
  const key = headers.get('sec-websocket-key')
  if (key === null || !keyForm.test(key)) return { problem: 'the header `sec-websocket-key` is not 16 bytes in base64' }
  return {
    accept: createHash('sha1')
      .update(key + guid)
      .digest('base64'),
  }
}
