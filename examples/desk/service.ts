import { combineServices, keywordRouter, remoteService, type CombinedService } from "dure";
import faq from "../faq/service.ts";

const BOOKING = ["회의실", "예약", "meeting room", "room", "book"];

/**
 * One desk for two services: questions are answered here, meeting rooms are booked on another
 * server. In the middle of a booking a person stays with it.
 */
export function createDesk(roomsUrl: string): CombinedService {
  return combineServices({
    name: "desk",
    title: "안내 데스크",
    description: "궁금한 것에는 여기서 답하고, 회의실은 다른 서버에서 예약해요.",
    services: [faq, remoteService(roomsUrl, { name: "meeting-room", timeout: "30s" })],
    router: keywordRouter({
      rules: [{ service: "meeting-room", keywords: BOOKING }],
      default: "faq",
    }),
  });
}
