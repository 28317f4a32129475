/** Certificate and key of the gateway's own TLS, read from files and read again when these change. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { TlsFiles } from '../config/serve-options.ts'
import type { TlsIdentity } from '../http/server/server.ts'
import { dayMs, systemClock } from '../lib/clock.ts'
import type { Logger } from '../telemetry/log.ts'

const pollMs = 2000
const soonDays = 14

/** Throws an error that names the file and what is wrong with it. */
export function readTls({ certFile, keyFile, clientCaFile }: TlsFiles): TlsIdentity {
  const [cert, key] = [textOf(certFile), textOf(keyFile)]
  const certificate = checked(certFile, 'no certificate in PEM', () => new X509Certificate(cert))
  const isOwn = checked(keyFile, 'no private key in PEM', () => certificate.checkPrivateKey(createPrivateKey(key)))
  if (!isOwn) throw new Error(`${keyFile} is not the key of the certificate in ${certFile}; give those of one pair`)
  if (Date.parse(certificate.validTo) < systemClock.epochMs())
    throw new Error(`the certificate in ${certFile} has expired (${certificate.validTo}); renew it`)
  if (clientCaFile === undefined) return { cert, key }
  const clientCa = textOf(clientCaFile)
  checked(clientCaFile, 'no certificate in PEM', () => new X509Certificate(clientCa))
  return { cert, key, clientCa }
}

function checked<T>(file: string, problem: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Error(`${file} holds ${problem}: ${(error as Error).message}`)
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message}`)
  }
}

/**
 * Calls back with each new pair. One that does not fit, as while the files are written one after the other, changes
 * nothing and is logged once.
 */
export function watchTls(
  files: TlsFiles,
  { identity, logger, renew }: { identity: TlsIdentity; logger: Logger; renew(identity: TlsIdentity): void },
): { stop(): void } {
  let [used, refused, toldDay] = [JSON.stringify(identity), '', -1]
  const look = (): void => {
    try {
      const next = readTls(files)
      const text = JSON.stringify(next)
      if (text !== used) {
        renew(next)
        used = text
        logger.info('the certificate was read again; new connections get it', { file: files.certFile })
      }
      refused = ''
      toldDay = tellEnd(next, { files, logger, toldDay })
    } catch (error) {
      const { message } = error as Error
      if (message !== refused) logger.error('the certificate stays as it was', { reason: message })
      refused = message
    }
  }
  const timer = setInterval(look, pollMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

interface Telling {
  readonly files: TlsFiles
  readonly logger: Logger
  /** When it was said last. */
  readonly toldDay: number
}

/** Once a day from two weeks before its end. */
function tellEnd({ cert }: TlsIdentity, { files, logger, toldDay }: Telling): number {
  const nowMs = systemClock.epochMs()
  const day = Math.floor(nowMs / dayMs)
  const days = Math.floor((Date.parse(new X509Certificate(cert).validTo) - nowMs) / dayMs)
  if (days > soonDays || day === toldDay) return toldDay
  logger.warn('the certificate ends soon', { file: files.certFile, days_left: days })
  return day
}
