/** Keys of `general_settings` about signing in. */
import { isIP } from 'node:net'
import { z } from 'zod'
import { checkedText } from '../checks/checked-text.ts'

function networkProblem(value: string): string | undefined {
  const [address = '', bits, ...more] = value.split('/')
  const kind = isIP(address)
  const bitsMax = kind === 6 ? 128 : 32
  const isNetwork =
    kind !== 0 && more.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && +bits <= bitsMax))
  return isNetwork ? undefined : 'is no address and no network; write 10.0.0.7 or 10.0.0.0/8'
}

/** The keys for sessions, passwords and sign-in; all are optional. */
export const signInSettings = {
  session_idle_minutes: z
    .number()
    .min(1)
    .max(525_600)
    .optional()
    .describe('A session of a browser ends when it is not used for as long. 720 (12 hours) when left out.'),
  session_lifetime_hours: z
    .number()
    .min(0.02)
    .max(8760)
    .optional()
    .describe('A session of a browser ends after as long in any case. 168 (7 days) when left out.'),
  trusted_proxies: z
    .array(checkedText(z.string(), networkProblem))
    .max(1000)
    .optional()
    .describe(
      "Addresses and networks of your own proxies, whose `X-Forwarded-For` names the client's address at a sign-in. " +
        'Without it all browsers behind a proxy share the limit of failed sign-ins.',
    ),
}
