/** Links by which a user sets a password: their address, and the mail that brings them. */
import type { Services } from '../../../core/endpoint.ts'
import type { User } from '../../../core/tenancy/tenancy.ts'

/** The page on which the link is used, below the gateway's address. */
export const passwordLinkAt = (address: string, token: string): string => `${address}/fallback/password?token=${token}`

/** Whether it was sent, and else why not; both empty = there is no mail server, or the user has no address. */
export interface SentLink {
  readonly email_sent: boolean
  readonly email_problem: string | null
}

/** No mail was requested, or there is none to send. */
export const notSent: SentLink = { email_sent: false, email_problem: null }

interface LinkMail {
  readonly subject: string
  /** Of the text, with the link as one of them. */
  readonly lines: readonly string[]
}

/** Never rejects: the link works all the same. */
export async function mailLink({ mailer, current }: Services, { email }: User, mail: LinkMail): Promise<SentLink> {
  if (!mailer || email === null) return notSent
  // A `Host` that another chose must not stand in a mail.
  if (current.settings.signIn.baseUrl === null)
    return { email_sent: false, email_problem: 'set PROXY_BASE_URL: a mail needs the address that browsers see' }
  try {
    await mailer.send({ to: [email], subject: mail.subject, text: mail.lines.join('\n') })
    return { email_sent: true, email_problem: null }
  } catch (error) {
    return { email_sent: false, email_problem: (error as Error).message }
  }
}
