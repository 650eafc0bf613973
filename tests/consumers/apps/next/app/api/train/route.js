// Trains on the server.
import { train } from '../../train';

export const dynamic = 'force-dynamic';
export async function GET() {
  return Response.json(await train({ threads: 2 }));
}
