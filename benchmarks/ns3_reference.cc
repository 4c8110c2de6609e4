// What ns-3 says of a line, of a radio cell and of TCP: compiled by cppyy when benchmarks/ns3_reference.py needs it.
//
// A function is one simulation. It leaves nothing behind, and `run` picks ns-3's independent random numbers.

namespace reference
{
using namespace ns3;

static void begin(uint64_t run)
{
    RngSeedManager::SetRun(run);
    RngSeedManager::ResetNextStreamIndex();
}

// ---- a line ------------------------------------------------------------------------------------------------------

static std::vector<int64_t> arrivals;

static bool take(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&)
{
    // A packet's number is its first eight bytes.
    uint64_t number = 0;
    packet->CopyData(reinterpret_cast<uint8_t*>(&number), sizeof(number));
    arrivals[number] = Simulator::Now().GetNanoSeconds();
    return true;
}

static void hand(Ptr<NetDevice> device, uint64_t number, uint32_t size)
{
    std::vector<uint8_t> bytes(size, 0);
    std::memcpy(bytes.data(), &number, sizeof(number));
    device->Send(Create<Packet>(bytes.data(), size), device->GetBroadcast(), 0x0800);
}

// When each packet arrives, in nanoseconds; -1 if the queue dropped it.
std::vector<int64_t> line(const std::vector<int64_t>& times,
                          const std::vector<int>& sizes,
                          uint64_t bandwidth,
                          int64_t delay,
                          int queue)
{
    begin(1);
    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(bandwidth)));
    helper.SetDeviceAttribute("Mtu", UintegerValue(65535));
    helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds(delay)));
    helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(PACKETS, queue)));
    NetDeviceContainer devices = helper.Install(nodes);
    devices.Get(1)->SetReceiveCallback(MakeCallback(&take));
    arrivals.assign(times.size(), -1);
    for (uint64_t k = 0; k < times.size(); ++k)
    {
        Simulator::Schedule(NanoSeconds(times[k]), &hand, devices.Get(0), k, uint32_t(sizes[k]));
    }
    Simulator::Run();
    Simulator::Destroy();
    return arrivals;
}

// ---- a radio cell ------------------------------------------------------------------------------------------------

static int64_t last_arrival;
static int received;

static bool hear(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&)
{
    ++received;
    last_arrival = Simulator::Now().GetNanoSeconds();
    return true;
}

static void offer(Ptr<NetDevice> device, Address to, uint32_t size)
{
    device->Send(Create<Packet>(size), to, 0x0800);
}

// Share of the receptions that took place, and seconds from the offer until the last one.
std::vector<double> cell(int stations, bool broadcast, double window, bool equal, uint32_t size, uint64_t run)
{
    begin(run);
    NodeContainer nodes;
    nodes.Create(stations);
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    if (equal)
    {
        // All hear all equally well, so of two frames at once neither survives.
        channel.AddPropagationLoss("ns3::FixedRssLossModel", "Rss", DoubleValue(-50));
    }
    else
    {
        // Who is near is heard better, so of two frames at once the stronger may survive.
        channel.AddPropagationLoss("ns3::LogDistancePropagationLossModel");
    }
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211a);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue("OfdmRate6Mbps"),
                                 "ControlMode", StringValue("OfdmRate6Mbps"));
    // By default a frame that waits for half a second is dropped, and twenty stations need longer.
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(60)));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    MobilityHelper mobility;
    Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
    for (int k = 0; k < stations; ++k)
    {
        double angle = 2 * M_PI * k / stations;
        places->Add(Vector(5 * std::cos(angle), 5 * std::sin(angle), 0));
    }
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);

    received = 0;
    last_arrival = 1000000000;
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    start->SetAttribute("Max", DoubleValue(window));
    for (int k = 0; k < stations; ++k)
    {
        devices.Get(k)->SetReceiveCallback(MakeCallback(&hear));
        Time when = Seconds(1) + NanoSeconds(window > 0 ? int64_t(start->GetValue() * 1e9) : 0);
        if (broadcast)
        {
            Simulator::Schedule(when, &offer, devices.Get(k), devices.Get(k)->GetBroadcast(), size);
            continue;
        }
        for (int step = 1; step < stations; ++step)
        {
            Address to = devices.Get((k + step) % stations)->GetAddress();
            Simulator::Schedule(when, &offer, devices.Get(k), to, size);
        }
    }
    Simulator::Stop(Seconds(60));
    Simulator::Run();
    Simulator::Destroy();
    return {double(received) / (stations * (stations - 1)), (last_arrival - 1000000000) / 1e9};
}

// ---- TCP ---------------------------------------------------------------------------------------------------------

static uint64_t wire_bytes, left_to_send, left_to_receive;
static int64_t finished;
static bool measuring;

static void on_wire(Ptr<const Packet> packet)
{
    wire_bytes += measuring ? packet->GetSize() - 2 : 0; // without the two bytes of PPP
}

static void fill(Ptr<Socket> socket, uint32_t room)
{
    while (measuring && left_to_send > 0 && room > 0)
    {
        int sent = socket->Send(Create<Packet>(uint32_t(std::min<uint64_t>(room, left_to_send))));
        if (sent <= 0)
        {
            return;
        }
        left_to_send -= sent;
        room = socket->GetTxAvailable();
    }
}

static void drain(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        left_to_receive -= packet->GetSize();
        if (left_to_receive == 0)
        {
            finished = Simulator::Now().GetNanoSeconds();
        }
    }
}

static void accepted(Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeCallback(&drain));
}

static void start(Ptr<Socket> socket, Ptr<RateErrorModel> there, Ptr<RateErrorModel> back)
{
    there->Enable();
    back->Enable();
    measuring = true;
    fill(socket, socket->GetTxAvailable());
}

static Ptr<RateErrorModel> losing(Ptr<NetDevice> device, double rate)
{
    Ptr<RateErrorModel> model = CreateObject<RateErrorModel>();
    model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    model->SetRate(rate);
    model->Disable();
    device->SetAttribute("ReceiveErrorModel", PointerValue(model));
    return model;
}

// IP bytes that left the sender per message byte, and seconds from the first segment until the receiver has all.
std::vector<double> transfer(uint64_t size, double loss, double ack_loss, uint64_t run)
{
    begin(run);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    helper.SetChannelAttribute("Delay", StringValue("20ms"));
    helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100p"));
    NetDeviceContainer devices = helper.Install(nodes);
    InternetStackHelper internet;
    internet.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer hosts = addresses.Assign(devices);
    TrafficControlHelper().Uninstall(devices);
    Ptr<RateErrorModel> there = losing(devices.Get(1), loss);
    Ptr<RateErrorModel> back = losing(devices.Get(0), ack_loss);
    devices.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&on_wire));

    wire_bytes = 0;
    left_to_send = left_to_receive = size;
    finished = -1;
    measuring = false;
    Ptr<Socket> listener = Socket::CreateSocket(nodes.Get(1), TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&accepted));
    Ptr<Socket> sender = Socket::CreateSocket(nodes.Get(0), TcpSocketFactory::GetTypeId());
    sender->Bind();
    sender->SetSendCallback(MakeCallback(&fill));
    sender->Connect(InetSocketAddress(hosts.GetAddress(1), 9));
    // The connection is there after a second; only then packets are lost and bytes counted.
    Simulator::Schedule(Seconds(1), &start, sender, there, back);
    Simulator::Stop(Seconds(1000));
    Simulator::Run();
    Simulator::Destroy();
    return {double(wire_bytes) / size, finished < 0 ? -1.0 : (finished - 1000000000) / 1e9};
}
} // namespace reference
