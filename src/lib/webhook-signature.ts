/** Signs what goes to webhooks, as "Standard Webhooks" says (standardwebhooks.com). */
import { createHmac } from 'node:crypto'

interface WebhookMessage {
  /** The same in all attempts; letters, digits, `_` and `-`. */
  readonly id: string
  /** Of this attempt, milliseconds since 1970. */
  readonly atMs: number
  readonly body: Uint8Array
}

/**
 * The headers of one attempt. The signature is base64 of the HMAC-SHA-256 of `ID.TIMESTAMP.BODY`; without a secret
 * there is none. `secret` = `whsec_` and base64, or any text.
 */
export function webhookHeaders(secret: string | undefined, { id, atMs, body }: WebhookMessage): Record<string, string> {
  const seconds = String(Math.floor(atMs / 1000))
  const headers = { 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': seconds }
  if (!secret) return headers
  const signed = createHmac('sha256', secretBytes(secret)).update(`${id}.${seconds}.`).update(body)
  return { ...headers, 'webhook-signature': `v1,${signed.digest('base64')}` }
}

const secretBytes = (secret: string): Buffer =>
  secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret)
