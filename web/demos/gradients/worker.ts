import { serveTask } from '../shared/worker.js';
import { task } from './task.js';

export const job = serveTask(task);
