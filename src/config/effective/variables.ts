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
    description: 'The address that the gateway listens on.',
    flag: '--host',
    byDefault: '127.0.0.1',
  },
  {
    name: 'PORT',
    group: 'general',
    description: 'The port that the gateway listens on.',
    flag: '--port',
    byDefault: 4000,
  },
  {
    name: 'MODELGATE_TLS_CERT',
    group: 'general',
    description:
      'The path of a certificate chain in PEM, with which the gateway itself serves HTTPS. It is read again when it ' +
      'changes.',
    flag: '--tls-cert',
  },
  {
    name: 'MODELGATE_TLS_KEY',
    group: 'general',
    description: 'The path of the private key in PEM that belongs to the certificate of the gateway.',
    flag: '--tls-key',
  },
  {
    name: 'MODELGATE_TLS_CLIENT_CA',
    group: 'general',
    description: 'The path of the certificate in PEM of the authority whose certificates clients have to show.',
    flag: '--tls-client-ca',
  },
  {
    name: 'SERVER_ROOT_PATH',
    group: 'general',
    description: 'The prefix of all paths that a proxy in front of the gateway passes on.',
    flag: '--root-path',
  },
  {
    name: 'MODELGATE_CONFIG',
    group: 'general',
    description: 'The path of the configuration file that is read.',
    flag: '--config',
  },
  {
    name: 'MODELGATE_DATA_DIR',
    group: 'general',
    description: 'The path of the directory that holds the journal, the built-in database and what else is kept.',
    flag: '--data-dir',
  },
  {
    name: 'REDIS_URL',
    group: 'general',
    description: 'The Redis that replicas share limits over; without it one process counts alone.',
  },
  {
    name: 'MODELGATE_LOG_LEVEL',
    group: 'general',
    description: 'The least level that is logged: debug, info, warn, error or off.',
    byDefault: 'info',
  },
  {
    name: 'MODELGATE_MAX_CONNECTIONS',
    group: 'general',
    description: 'How many connections of clients are taken at most. Left out: as `ulimit -n` allows.',
  },
  {
    name: 'MODELGATE_DRAIN_DELAY_MS',
    group: 'general',
    description: 'How many milliseconds pass before the port closes on SIGTERM.',
    byDefault: 0,
  },
  {
    name: 'MODELGATE_DRAIN_MS',
    group: 'general',
    description: 'How many milliseconds open requests have after the port was closed on SIGTERM.',
    byDefault: 20_000,
  },
  {
    name: 'MODELGATE_WORKERS',
    group: 'general',
    description:
      'How many processes serve the port: a number, or `auto` for one a core. They share limits, budgets and what is ' +
      'kept, without Redis too. `--workers` has precedence.',
    byDefault: 1,
  },
  {
    name: 'MODELGATE_DRAIN_IDLE_MS',
    group: 'general',
    description:
      'How many milliseconds idle connections stay open after the port was closed on SIGTERM, so that a request ' +
      'which a proxy is just sending on one is answered.',
    byDefault: 500,
  },
  { name: 'MODELGATE_DISCOVER', group: 'general', description: '0: no model servers are looked for on this machine.' },
  {
    name: 'MODELGATE_KEY_PEPPER',
    group: 'general',
    description: 'The secret that keys are hashed with. Left out: one is made and stored.',
    isSecret: true,
  },
  {
    name: 'MODELGATE_ENCRYPTION_KEY',
    group: 'general',
    description: 'The key that encrypts the secrets that are made by API.',
    isSecret: true,
  },
  {
    name: 'LITELLM_SALT_KEY',
    group: 'general',
    description: 'The other name of MODELGATE_ENCRYPTION_KEY, which LiteLLM has.',
    isSecret: true,
    isRare: true,
  },
  {
    name: 'MODELGATE_DECRYPTION_KEYS',
    group: 'general',
    description: 'Further keys that only decrypt what was encrypted with them before.',
    isSecret: true,
    isRare: true,
  },
  {
    name: 'VAULT_ADDR',
    group: 'general',
    description: 'The address of the Vault that references as `vault/...` are read from.',
    isRare: true,
  },
  {
    name: 'VAULT_TOKEN',
    group: 'general',
    description: 'The token that the gateway signs in to the Vault with.',
    isSecret: true,
    isRare: true,
  },
  {
    name: 'VAULT_TOKEN_FILE',
    group: 'general',
    description: 'The file that holds the token for the Vault.',
    isRare: true,
  },
  {
    name: 'VAULT_NAMESPACE',
    group: 'general',
    description: 'The namespace of the Vault that secrets are read from.',
    isRare: true,
  },
  {
    name: 'PROXY_BASE_URL',
    group: 'sign-in',
    description: "The gateway's address as browsers see it.",
    isInFile: true,
  },
  {
    name: 'UI_USERNAME',
    group: 'sign-in',
    description: 'The name that the operator gives at the sign-in.',
    isInFile: true,
    byDefault: 'admin',
  },
  {
    name: 'UI_PASSWORD',
    group: 'sign-in',
    description: 'The password that the operator gives at the sign-in. Left out: it is the master key.',
    isInFile: true,
    isSecret: true,
  },
  {
    name: 'ALLOWED_EMAIL_DOMAINS',
    group: 'sign-in',
    description: 'The domains of persons who may sign in, by a verified address.',
    isInFile: true,
  },
  { name: 'SMTP_HOST', group: 'mail', description: 'The mail server; without it no mail is sent.' },
  { name: 'SMTP_PORT', group: 'mail', description: 'The port that the mail server listens on.', byDefault: 587 },
  {
    name: 'SMTP_USERNAME',
    group: 'mail',
    description: 'The account that the gateway signs in to the mail server with.',
  },
  { name: 'SMTP_PASSWORD', group: 'mail', description: 'The password that belongs to SMTP_USERNAME.', isSecret: true },
  {
    name: 'SMTP_SENDER_EMAIL',
    group: 'mail',
    description: 'The sender that mails name. Left out: it is SMTP_USERNAME.',
  },
  { name: 'SMTP_TLS', group: 'mail', description: 'true: no mail is sent without TLS.', byDefault: 'false' },
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
  const about = {
    name,
    group: 'sign-in',
    description: 'A setting of an identity provider that its name says (docs/sign-in.md).',
  } as const
  return { ...about, isRare: true, isInFile: true, ...(name.endsWith('_SECRET') && { isSecret: true }) }
})

/** All but the keys of model providers. */
export const variables: readonly Variable[] = [...own, ...ofProviders]
