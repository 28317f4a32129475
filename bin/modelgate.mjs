#!/usr/bin/env node
import { findBun, runBun } from './bun.mjs'
import { programPath } from './program.mjs'

runBun([programPath(findBun()), ...process.argv.slice(2)])
