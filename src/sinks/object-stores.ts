/** Buckets: S3 and what speaks as it does (GCS by its XML API), and Azure Blob by an address with a signature (SAS). */
import type { Sink } from '../core/ledger/sink.ts'
import type { SinkParams } from '../core/ledger/sinks.ts'
import { ask } from './ask.ts'
import type { SinkParts } from './ask.ts'
import { dayObjects } from './json-lines.ts'

const rowsMax = 1000
const timeoutMs = 30_000

/** By the client of the runtime, which signs as AWS asks for. */
export function s3Sink({ bucket, region, url, username, password, prefix }: SinkParams): Sink {
  const client = new Bun.S3Client({
    bucket: bucket!,
    ...(region !== undefined && { region }),
    ...(url !== undefined && { endpoint: url }),
    ...(username !== undefined && { accessKeyId: username }),
    ...(password !== undefined && { secretAccessKey: password }),
  })
  return {
    rowsMax,
    async send(rows) {
      for (const { key, body } of dayObjects(rows, prefix))
        await inTime(client.write(key, body, { type: 'application/x-ndjson' }))
    },
  }
}

/** https://cloud.google.com/storage/docs/interoperability, 2026-11: HMAC keys, and the same requests as S3. */
export const gcsSink = (params: SinkParams): Sink =>
  s3Sink({ ...params, url: params.url ?? 'https://storage.googleapis.com', region: params.region ?? 'auto' })

/**
 * https://learn.microsoft.com/rest/api/storageservices/put-blob, 2026-11. `url` is that of a container, with a
 * signature that may create and write.
 */
export function azureBlobSink(parts: SinkParts, { url, prefix }: SinkParams): Sink {
  return {
    rowsMax,
    async send(rows) {
      for (const { key, body } of dayObjects(rows, prefix)) {
        const address = new URL(url!)
        address.pathname = `${address.pathname.replace(/\/$/, '')}/${key}`
        const headers = {
          'x-ms-blob-type': 'BlockBlob',
          'x-ms-version': '2021-12-02',
          'content-type': 'application/x-ndjson',
        }
        await ask(parts, { method: 'PUT', url: address.href, headers, body })
      }
    },
  }
}

async function inTime(work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it has not answered for 30 s')), timeoutMs)
  })
  await Promise.race([work, late]).finally(() => clearTimeout(timer))
}
