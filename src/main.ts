import { endWithReader } from './cli/closed-pipe.ts'
import { main } from './cli/index.ts'

// What is written (keys, ledger, uploads) is for this user alone.
process.umask(0o077)
endWithReader()
process.exitCode = await main(process.argv.slice(2), process.env)
