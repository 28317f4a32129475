/** Credentials of programs: keys with the prefixes of their issuers, and texts that look random. */
import type { Span } from '../../lib/linear-regex/index.ts'
import { standsAlone } from './entity.ts'
import type { Entity } from './entity.ts'

/** As their issuers write them, for scanners of leaked keys. */
const prefixed = [
  'sk-(?:ant-|proj-|or-|svcacct-|admin-)?[A-Za-z0-9_-]{16,200}',
  'mgd?_[A-Za-z0-9_.-]{24,400}',
  '(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}',
  'AIza[0-9A-Za-z_-]{35}',
  'ya29\\.[0-9A-Za-z_-]{20,200}',
  'GOCSPX-[0-9A-Za-z_-]{20,40}',
  'gh[pousr]_[A-Za-z0-9]{36,251}',
  'github_pat_[A-Za-z0-9_]{22,255}',
  'glpat-[A-Za-z0-9_-]{20,64}',
  'xox[abeoprs]-[A-Za-z0-9-]{10,200}',
  'xapp-[0-9]-[A-Za-z0-9-]{10,200}',
  '[rsp]k_(?:live|test)_[0-9A-Za-z]{16,200}',
  'whsec_[A-Za-z0-9+/=]{24,100}',
  'hf_[A-Za-z0-9]{30,64}',
  'npm_[A-Za-z0-9]{36}',
  'pypi-AgEI[A-Za-z0-9_-]{50,400}',
  'SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{16,64}',
  'gsk_[A-Za-z0-9]{40,64}',
  'xai-[A-Za-z0-9]{40,100}',
  'pplx-[A-Za-z0-9]{40,64}',
  'r8_[A-Za-z0-9]{37,40}',
  'dop_v1_[0-9a-f]{64}',
  'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}',
  'dckr_pat_[A-Za-z0-9_-]{20,40}',
  'hv[sb]\\.[A-Za-z0-9_-]{20,200}',
  'AGE-SECRET-KEY-1[0-9A-Z]{58}',
]

/** They stand in the place of a secret. */
const isPlaceholder = (value: string): boolean =>
  /^(?:[*xX.•-]+|<.*|\$\{.*|os\.environ\/.*|process\.env.*|\[[A-Z0-9_]+\].*|null|none|true|false|undefined)$/i.test(
    value,
  )

/** The named group of the find that is the secret itself. */
function valueIn(text: string, { start, end }: Span, pattern: RegExp): Span | undefined {
  const found = pattern.exec(text.slice(start, end))
  const value = found?.[1]
  if (value === undefined || isPlaceholder(value)) return undefined
  return { start: end - value.length, end }
}

/** Bits for each character (Shannon). */
function entropy(text: string): number {
  const counts = new Map<string, number>()
  for (const letter of text) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}

const entropyLeast = 4

/** Texts of the alphabets of base64 that are no words, no numbers and no paths. */
function looksRandom(text: string, { start, end }: Span): Span | undefined {
  const found = text.slice(start, end)
  const isPart = (letter: string | undefined) => letter !== undefined && /[\w+/=.-]/.test(letter)
  if (isPart(text[start - 1]) || /[\w+/=-]/.test(text[end] ?? '')) return undefined
  const kinds = [/[a-z]/, /[A-Z]/, /\d/].filter(kind => kind.test(found)).length
  const digits = found.replace(/\D/g, '').length
  return kinds === 3 && digits >= 3 && entropy(found) >= entropyLeast ? { start, end } : undefined
}

/** Kinds of secrets, by the names that guardrails list. */
export const secrets: readonly Entity[] = [
  {
    name: 'API_KEY',
    pattern: `\\b(?:${prefixed.join('|')})`,
    check: (text, span) => (standsAlone(text, span) || text[span.end] === '.' ? span : undefined),
  },
  { name: 'JWT', pattern: '\\beyJ[A-Za-z0-9_-]{8,1000}\\.[A-Za-z0-9_-]{8,1000}\\.[A-Za-z0-9_-]{16,1000}' },
  {
    name: 'PRIVATE_KEY',
    pattern:
      '-----BEGIN [A-Z ]{0,32}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\\s:,\\\\-]{0,1000}){0,5}' +
      '(?:-----END [A-Z ]{0,32}PRIVATE KEY(?: BLOCK)?-----)?',
  },
  {
    name: 'PASSWORD',
    pattern:
      '(?i)\\b(?:password|passwd|passphrase|pwd|passwort|kennwort|contraseña|mot de passe|secret|client[_-]?secret|' +
      'api[_-]?key|access[_-]?key|access[_-]?token|auth[_-]?token)["\']?(?:\\s{0,3}[:=]\\s{0,3}|\\s{1,3}(?:is|ist|es|' +
      'est)\\s{1,3})["\']?[^\\s"\',;<>]{6,128}',
    check: (text, span) =>
      valueIn(text, span, /(?:[:=]|\s(?:is|ist|es|est)\s)\s*["']?([^\s"',;<>]*[\d\W_][^\s"',;<>]*)$/i),
  },
  {
    name: 'CONNECTION_PASSWORD',
    pattern: '(?i)\\b[a-z][a-z0-9+.-]{1,20}://[^\\s:@/"\']{0,64}:[^\\s@/"\']{3,128}@',
    check(text, { start, end }) {
      const found = valueIn(text, { start, end: end - 1 }, /:\/\/[^:]*:(.+)$/)
      return found
    },
  },
  { name: 'HIGH_ENTROPY', pattern: '[A-Za-z0-9+/_=-]{24,128}', check: looksRandom },
]
