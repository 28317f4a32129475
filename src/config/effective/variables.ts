/** The variables of the process that are settings of the gateway, beside the keys of the file. */
import type { SettingGroup } from '../../core/effective-values.ts'

/** An environment variable that sets something. */
export interface Variable {
  readonly name: string
  readonly group: SettingGroup
  readonly description: string
  /** The flag that wins over it. */
  readonly flag?: string
  /** Its value is never shown. */
  readonly isSecret?: true
  /** Listed only where it is set. */
  readonly isRare?: true
  /** It may also stand in `environment_variables` of the file. */
  readonly isInFile?: true
  readonly byDefault?: unknown
}

const own: readonly Variable[] = [
  {
    name: 'HOST',
    group: 'general',
    description: 'The address that is listened on.',
    flag: '--host',
    byDefault: '127.0.0.1',
  },
  { name: 'PORT', group: 'general', description: 'The port.', flag: '--port', byDefault: 4000 },
  {
    name: 'SERVER_ROOT_PATH',
    group: 'general',
    description: 'A path prefix that a proxy passes on.',
    flag: '--root-path',
  },
  { name: 'MODELGATE_CONFIG', group: 'general', description: 'The configuration file.', flag: '--config' },
  { name: 'MODELGATE_DATA_DIR', group: 'general', description: 'The data directory.', flag: '--data-dir' },
  {
    name: 'REDIS_URL',
    group: 'general',
    description: 'The Redis that replicas share limits over; without it one process counts alone.',
  },
  { name: 'MODELGATE_LOG_LEVEL', group: 'general', description: 'debug, info, warn, error or off.', byDefault: 'info' },
  {
    name: 'MODELGATE_MAX_CONNECTIONS',
    group: 'general',
    description: 'Connections of clients at most; else by `ulimit -n`.',
  },
  {
    name: 'MODELGATE_DRAIN_DELAY_MS',
    group: 'general',
    description: 'Milliseconds before the port closes on SIGTERM.',
    byDefault: 0,
  },
  {
    name: 'MODELGATE_DRAIN_MS',
    group: 'general',
    description: 'Milliseconds that open requests have then.',
    byDefault: 20_000,
  },
  { name: 'MODELGATE_DISCOVER', group: 'general', description: '0 = no search for model servers on this machine.' },
  {
    name: 'MODELGATE_KEY_PEPPER',
    group: 'general',
    description: 'Hashes keys; else one is made and stored.',
    isSecret: true,
  },
  {
    name: 'MODELGATE_ENCRYPTION_KEY',
    group: 'general',
    description: 'Encrypts secrets that are made by API.',
    isSecret: true,
  },
  {
    name: 'LITELLM_SALT_KEY',
    group: 'general',
    description: 'The same, under its other name.',
    isSecret: true,
    isRare: true,
  },
  {
    name: 'MODELGATE_DECRYPTION_KEYS',
    group: 'general',
    description: 'Further keys that only decrypt.',
    isSecret: true,
    isRare: true,
  },
  { name: 'VAULT_ADDR', group: 'general', description: 'The Vault of `vault/...` references.', isRare: true },
  { name: 'VAULT_TOKEN', group: 'general', description: 'Its token.', isSecret: true, isRare: true },
  { name: 'VAULT_TOKEN_FILE', group: 'general', description: 'The file of its token.', isRare: true },
  { name: 'VAULT_NAMESPACE', group: 'general', description: 'Its namespace.', isRare: true },
  {
    name: 'PROXY_BASE_URL',
    group: 'sign-in',
    description: "The gateway's address as browsers see it.",
    isInFile: true,
  },
  {
    name: 'UI_USERNAME',
    group: 'sign-in',
    description: 'The name of the operator at the sign-in.',
    isInFile: true,
    byDefault: 'admin',
  },
  {
    name: 'UI_PASSWORD',
    group: 'sign-in',
    description: 'The password of the operator; else the master key.',
    isInFile: true,
    isSecret: true,
  },
  {
    name: 'ALLOWED_EMAIL_DOMAINS',
    group: 'sign-in',
    description: 'Only persons with a verified address in one of these.',
    isInFile: true,
  },
  { name: 'SMTP_HOST', group: 'mail', description: 'The mail server; without it no mail is sent.' },
  { name: 'SMTP_PORT', group: 'mail', description: 'Its port.', byDefault: 587 },
  { name: 'SMTP_USERNAME', group: 'mail', description: 'The account there.' },
  { name: 'SMTP_PASSWORD', group: 'mail', description: 'Its password.', isSecret: true },
  { name: 'SMTP_SENDER_EMAIL', group: 'mail', description: 'The sender of mails; else SMTP_USERNAME.' },
  { name: 'SMTP_TLS', group: 'mail', description: 'true = nothing is sent without TLS.', byDefault: 'false' },
]

/** Identity providers of the environment: their names say what they are. */
const ofProviders = [
  ...['GOOGLE_CLIENT_ID', 'GOOGLE_CLIENT_SECRET', 'MICROSOFT_CLIENT_ID', 'MICROSOFT_CLIENT_SECRET', 'MICROSOFT_TENANT'],
  ...['CLIENT_ID', 'CLIENT_SECRET', 'ISSUER', 'SCOPE', 'TRUST_EMAIL', 'USER_ROLE_ATTRIBUTE'].map(
    one => `GENERIC_${one}`,
  ),
  ...['AUTHORIZATION', 'TOKEN', 'USERINFO', 'END_SESSION'].map(one => `GENERIC_${one}_ENDPOINT`),
  ...['ID', 'EMAIL', 'DISPLAY_NAME'].map(one => `GENERIC_USER_${one}_ATTRIBUTE`),
].map((name): Variable => {
  const about = { name, group: 'sign-in', description: 'Of an identity provider (docs/sign-in.md).' } as const
  return { ...about, isRare: true, isInFile: true, ...(name.endsWith('_SECRET') && { isSecret: true }) }
})

/** All but the keys of model providers. */
export const variables: readonly Variable[] = [...own, ...ofProviders]
