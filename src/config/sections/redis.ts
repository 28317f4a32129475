/** The Redis over which replicas share limits, as LiteLLM's users name it in `router_settings`. */
import { z } from 'zod'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { redisUrlProblem } from '../checks/value-checks.ts'
import { checkedText, text } from './value-types.ts'

/** A number, or the same as text. */
export const redisPort = () => z.union([z.number().int().min(1).max(65_535), z.string().regex(/^\d{1,5}$/)])

const besideHost = { path: 'router_settings.redis_host' }

/** Keys of `router_settings`. */
export const redisKeys = settingKeys('routing', {
  redis_url: {
    type: () => checkedText(text(), redisUrlProblem),
    description: 'The Redis that replicas share limits over. REDIS_URL wins.',
    example: 'redis://redis.internal:6379',
    secret: 'path',
    winningVariable: 'REDIS_URL',
    isReadAtStart: true,
  },
  redis_host: {
    type: text,
    description:
      'The host of the Redis that replicas share limits over, where neither `redis_url` nor REDIS_URL is given.',
    example: 'redis.internal',
    isReadAtStart: true,
  },
  redis_port: {
    type: redisPort,
    default: 6379,
    description: 'The port of the Redis that is named by `redis_host`.',
    example: 6379,
    usedWith: besideHost,
    isReadAtStart: true,
  },
  redis_password: {
    type: text,
    description: 'The password that the Redis named by `redis_host` asks for.',
    example: '${REDIS_PASSWORD:-none}',
    secret: 'whole',
    usedWith: besideHost,
    isReadAtStart: true,
  },
  redis_db: {
    type: () => z.number().int().min(0).max(65_535),
    default: 0,
    description: 'The number of the database in the Redis that is named by `redis_host`.',
    example: 1,
    usedWith: besideHost,
    isReadAtStart: true,
  },
})

/** The address of the Redis that the file names; undefined = none. */
export function redisAddressOf(router: Values<typeof redisKeys>): string | undefined {
  const {
    redis_url: url,
    redis_host: host,
    redis_port: port,
    redis_password: password,
    redis_db: db,
  } = withDefaults(redisKeys, router)
  return url ?? redisAddress({ host, port, password, db })
}

/** An address in parts; undefined host = there is none. */
interface RedisParts {
  readonly host?: string | undefined
  readonly port: number | string
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly ssl?: boolean
  readonly db?: number
}

/** As `redis://user:password@host:port/db`. */
export function redisAddress({ host, port, username = '', password = '', ssl, db = 0 }: RedisParts) {
  if (host === undefined) return undefined
  const user =
    username === '' && password === '' ? '' : `${encodeURIComponent(username)}:${encodeURIComponent(password)}@`
  return `${ssl ? 'rediss' : 'redis'}://${user}${host}:${port}${db === 0 ? '' : `/${db}`}`
}
