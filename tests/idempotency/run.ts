/**
 * `npm run idempotency -- --requests 1000 --kills 20`: requests sent again and again under kill -9; a minute or two.
 */
import { parseArgs } from 'node:util'
import { runRepeatedRequests } from './repeated-requests.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '1000' },
    copies: { type: 'string', default: '3' },
    kills: { type: 'string', default: '20' },
  },
})
const result = await runRepeatedRequests({
  requests: Number(values.requests),
  copies: Number(values.copies),
  kills: Number(values.kills),
})
console.log(JSON.stringify(result, null, 2))
process.exit(result.askedTwice + result.different + result.billedTwice === 0 ? 0 : 1)
