/** Mail over SMTP, by the environment that LiteLLM's users have (docs.litellm.ai/docs/proxy/email, 2026-11-23). */
import type { Mailer } from '../core/mail.ts'
import type { Logger } from '../telemetry/log.ts'

type Environment = Readonly<Record<string, string | undefined>>

const timeoutMs = 10_000
/** TLS from the first byte (RFC 8314). */
const submissionsPort = 465
/** Submission of mail (RFC 6409). */
const submissionPort = 587

/**
 * By `SMTP_HOST`, `SMTP_PORT`, `SMTP_USERNAME`, `SMTP_PASSWORD`, `SMTP_SENDER_EMAIL` and `SMTP_TLS` (`true` = nothing
 * is sent without TLS; otherwise it is used where the server offers it). undefined = no server is named. Throws, with
 * the variable and the remedy, for a port or a sender that is none.
 */
export function createMailer(environment: Environment): Mailer | undefined {
  const { SMTP_HOST: host, SMTP_PORT: portText, SMTP_USERNAME: user, SMTP_PASSWORD: pass = '' } = environment
  if (!host) return undefined
  const port = Number(portText || submissionPort)
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new Error(`SMTP_PORT is no port from 1 to 65535: '${portText}'; 587 is usual`)
  const sender = environment.SMTP_SENDER_EMAIL || user
  if (!sender?.includes('@'))
    throw new Error('SMTP_SENDER_EMAIL is missing or no address; set it to the sender of mails, as gateway@example.com')
  const options = {
    host,
    port,
    secure: port === submissionsPort,
    requireTLS: environment.SMTP_TLS?.toLowerCase() === 'true' && port !== submissionsPort,
    ...(user && { auth: { user, pass } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  }
  // Loaded with the first mail: most gateways never send one.
  const transport = lazily(async () => (await import('nodemailer')).createTransport(options))
  return {
    async send({ to, subject, text }) {
      try {
        await (await transport()).sendMail({ from: sender, to: [...to], subject, text })
      } catch (error) {
        const { responseCode, code, message } = error as { responseCode?: number; code?: string; message: string }
        // A server may repeat the credentials in its answer.
        const reason = responseCode === undefined ? (code ?? message) : `it answered with ${responseCode}`
        throw new Error(`the mail server ${host}:${port} did not take a mail: ${reason}`, { cause: error })
      }
    },
  }
}

/** Also for mails whose failure is in no answer: it is in the log, and thrown. */
export function withLog(mailer: Mailer, logger: Pick<Logger, 'warn'>): Mailer {
  return {
    async send(mail) {
      try {
        await mailer.send(mail)
      } catch (error) {
        logger.warn('a mail could not be sent', { reason: (error as Error).message })
        throw error
      }
    },
  }
}

function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}
